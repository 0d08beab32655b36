"""Auth callout: a service decides who may connect, as what, and until when.

`Callouts` asks and waits for the answer; `response` judges it. `CalloutAuthenticator` is for users of a
configuration; in operator mode `operator.authenticator` asks. Imported only where a callout is configured.
"""
