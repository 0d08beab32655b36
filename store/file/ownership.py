"""Whose files are in a stream's folder. Files of others are set aside before they are trusted.

A block belongs to the stream if its header has the stream's identity and the number and generation of its
name, and the manifest knows no other block by them. A sidecar without its block, and the manifest, count only
with the stream's identity, because they record removed messages. If nothing in the folder belongs to the
stream, the whole folder was exchanged, and nothing is touched (`ForeignFilesError`).
"""

from dataclasses import field

from ...protocol.lazy_dataclass import dataclass
from ..fs import FileSystem, read_file, set_aside
from ..identity import ANYBODY, ForeignFilesError, Identity
from . import sidecar
from .header import HEADER_SIZE, BlockHeader
from .manifest import NAME, Witness, read_manifest

_MOST = 1 << 31  # a block's number and generation are below it
_FOREIGN = "belongs to another stream"


def block_path(directory: str, number: int, generation: int) -> str:
    """Return the path of a block's file. That of its sidecar ends with `.idx` instead of `.blk`."""
    return f"{directory}/{number:010d}-{generation}.blk"


def sidecar_path(path: str) -> str:
    """Return the path of the sidecar of a block file."""
    return path[:-4] + ".idx"


def parse_block_name(name: str) -> tuple[int, int] | None:
    """Return number and generation from the name of a block file or sidecar."""
    number, _, generation = name[:-4].partition("-")
    if not name.endswith((".blk", ".idx")) or not number.isdigit() or not generation.isdigit():
        return None
    parsed = int(number), int(generation)
    return parsed if max(parsed) < _MOST else None


@dataclass(slots=True)
class BlockFile:
    """A block file.

    header: None if it is damaged.
    both_copies_intact: whether both copies of the header are.
    """

    path: str
    number: int
    generation: int
    header: BlockHeader | None
    both_copies_intact: bool
    size: int


@dataclass(slots=True)
class OwnFiles:
    """The stream's own files.

    blocks: the block files.
    witnesses: the contents of sidecars without a block.
    manifest, damage: the content of the manifest, and what is wrong with it.
    foreign: (path, what is wrong) of the files that are not the stream's own.
    """

    blocks: list[BlockFile] = field(default_factory=list)
    witnesses: list[Witness] = field(default_factory=list)
    manifest: Witness | None = None
    damage: str = ""
    foreign: list[tuple[str, str]] = field(default_factory=list)


def own_files(fs: FileSystem, directory: str, identity: Identity, *, cut_to_last_commit: bool) -> OwnFiles:
    """Find the stream's own files, and list the others. Raises ForeignFilesError and OSError.

    cut_to_last_commit: as in `FileStream`. Blocks may then have been begun again under a number that the
        manifest knows, so what the manifest says of a block is not compared.
    """
    own = OwnFiles()
    manifest, own.damage = read_manifest(fs, directory)
    if manifest is not None and not identity.owns(manifest.identity, manifest.number):
        own.foreign.append((f"{directory}/{NAME}", _FOREIGN))
        own.damage = ""
    else:
        own.manifest = manifest
    compared = None if cut_to_last_commit else own.manifest
    names = fs.names(directory)
    ours = _sort_blocks(fs, directory, names, identity, compared, own)
    ours |= _sort_sidecars(fs, directory, names, identity, compared, own)
    if own.foreign and not (ours or own.manifest is not None) and identity != ANYBODY:
        raise ForeignFilesError(f"{directory}: what lies here belongs to another stream; it is left as it is")
    return own


def _sort_blocks(
    fs: FileSystem,
    directory: str,
    names: list[str],
    identity: Identity,
    manifest: Witness | None,
    own: OwnFiles,
) -> bool:
    """Sort the block files into the stream's own and the others. Return whether a header is the stream's."""
    ours = False
    for name in names:
        parsed = parse_block_name(name)
        if parsed is None or not name.endswith(".blk"):
            continue
        file = _read(fs, f"{directory}/{name}", parsed)
        wrong = _wrong(file, identity, manifest)
        ours = ours or (file.header is not None and wrong != _FOREIGN)
        if wrong:
            own.foreign.append((file.path, wrong))
        else:
            own.blocks.append(file)
    return ours


def _sort_sidecars(
    fs: FileSystem,
    directory: str,
    names: list[str],
    identity: Identity,
    manifest: Witness | None,
    own: OwnFiles,
) -> bool:
    """Do the same with the sidecars that have no block. Return whether one of them is the stream's."""
    with_block = {sidecar_path(file.path) for file in own.blocks if file.header is not None}
    for path in (f"{directory}/{name}" for name in names if name.endswith(".idx")):
        witness = None if path in with_block else sidecar.witness(read_file(fs, path))
        if witness is None:
            continue
        if wrong := _wrong_witness(witness, identity, manifest):
            own.foreign.append((path, wrong))
        else:
            own.witnesses.append(witness)
    return bool(own.witnesses)


def set_foreign_aside(fs: FileSystem, own: OwnFiles) -> tuple[list[str], list[str]]:
    """Rename the files that are not the stream's own, and describe the (blocks, others). Raises OSError."""
    blocks, others = [], []
    for path, wrong in own.foreign:
        kept = set_aside(fs, path)
        if path.endswith(".blk"):
            blocks.append(f"{path} {wrong}, and is set aside ({kept})")
        else:
            others.append(f"{path} {wrong}, is set aside ({kept}), and is rewritten")
    return blocks, others


def first_unused(fs: FileSystem, directory: str) -> int:
    """Return a block number above all those of a folder of the previous version, 0 if it is empty.

    Raises OSError.
    """
    numbers = [parsed[0] for name in fs.names(directory) if (parsed := parse_block_name(name)) is not None]
    if numbers or fs.exists(f"{directory}/{NAME}"):
        manifest, _ = read_manifest(fs, directory)
        return max([*numbers, 0 if manifest is None else manifest.number]) + 1
    return 0


def _read(fs: FileSystem, path: str, parsed: tuple[int, int]) -> BlockFile:
    file = fs.open(path)
    try:
        first = fs.read(file, HEADER_SIZE, 0)
        return BlockFile(
            path, *parsed, BlockHeader.decode(first), BlockHeader.has_both_copies(first), fs.size(file)
        )
    finally:
        fs.close(file)


def _wrong(file: BlockFile, identity: Identity, manifest: Witness | None) -> str:
    """Return why a block file is not the stream's own one of that name; "" if it is, or nobody can tell."""
    header = file.header
    if header is None:
        return ""
    if not identity.owns(header.identity, header.number):
        return _FOREIGN
    if (header.number, header.generation) != (file.number, file.generation):
        return f"is the stream's block {header.number}-{header.generation}"
    if manifest is not None and manifest.names(header) and manifest.seed != header.seed:
        return "is not the block that was written here"
    return ""


def _wrong_witness(witness: Witness, identity: Identity, manifest: Witness | None) -> str:
    if not identity.owns(witness.identity, witness.number):
        return _FOREIGN
    named = manifest is not None and (witness.number, witness.generation) == (
        manifest.number,
        manifest.generation,
    )
    if named and manifest is not None and manifest.seed != witness.seed:
        return "does not belong to the block that was written here"
    return ""
