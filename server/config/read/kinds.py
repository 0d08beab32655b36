"""Which reader reads which kind of option. Every kind in options/ has a row here; a test compares them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import accounts, addresses, blocks, mappings, operator, permissions, section, users, values

if TYPE_CHECKING:
    from .section import Reader

READERS: dict[str, Reader] = {
    "account_jetstream": accounts.read_account_jetstream,
    "accounts": accounts.read_accounts,
    "advertise": addresses.read_advertise,
    "bool": values.read_bool,
    "bool_map": values.read_bool_map,
    "choice": values.read_choice,
    "client_port": addresses.read_client_port,
    "cluster_migrate": blocks.read_cluster_migrate,
    "compression": blocks.read_compression,
    "connection_types": permissions.read_connection_types,
    "duration": values.read_duration,
    "exports": accounts.read_exports,
    "handshake_first": blocks.read_handshake_first,
    "imports": accounts.read_imports,
    "int": values.read_int,
    "jetstream": blocks.read_jetstream,
    "js_size": values.read_storage,
    "leaf_urls": addresses.read_leaf_urls,
    "leaf_users": users.read_leaf_users,
    "leaf_version": blocks.read_leaf_version,
    "mappings": mappings.read_mappings,
    "monitor_port": addresses.read_monitor_port,
    "msg_trace": accounts.read_msg_trace,
    "name": values.read_name,
    "ocsp": blocks.read_ocsp,
    "ocsp_cache": blocks.read_ocsp_cache,
    "ocsp_peer": blocks.read_ocsp_peer,
    "path": values.read_path,
    "permissions": permissions.read_permissions,
    "pinned_certs": blocks.read_pinned_certs,
    "port": addresses.read_port,
    "preload": operator.read_preload,
    "proxies": blocks.read_proxies,
    "reconnect": blocks.read_reconnect,
    "resolver": operator.read_resolver,
    "seconds": values.read_seconds,
    "section": section.read_section,
    "sections": section.read_sections,
    "size": values.read_int,
    "strict_duration": values.read_strict_duration,
    "string": values.read_string,
    "string_map": values.read_string_map,
    "strings": values.read_strings,
    "subjects": values.read_subjects,
    "sync_interval": values.read_sync_interval,
    "tags": values.read_tags,
    "tls_version": blocks.read_tls_version,
    "urls": addresses.read_urls,
    "users": users.read_users,
}
