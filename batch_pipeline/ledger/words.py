"""A provider's words as PostgreSQL can hold them."""


def storable(text: str | None) -> str | None:
    """Without NUL and half surrogates: a message nobody can store must not keep a job from settling."""
    if text is None:
        return None
    return text.replace("\x00", "").encode("utf-8", "replace").decode()
