"""The web page for questions, and the content security policy of this page and the attention view.

The page is one file, put together from page.html, page.css, page.js, and the base.css of the page
that answers in the browser. The policy allows their own inline code, and requests to the service
itself.
"""

import base64
import hashlib
import re
from importlib.resources import files
from string import Template


def _read(path: str) -> str:
    return files("fabir").joinpath(path).read_text(encoding="utf-8")


PAGE = Template(_read("serve/page.html")).substitute(
    style=_read("web/base.css") + _read("serve/page.css"), script=_read("serve/page.js")
)
_EXPLAIN = _read("explain/page.html")


def _policy(*pages: str) -> str:
    """A content security policy that allows each page's style and script by hash.

    The page shows the attention view in a frame, which inherits the policy of the page.
    """
    allowed = {kind: " ".join(_hashes(kind, pages)) for kind in ("script", "style")}
    return (
        f"default-src 'none'; script-src {allowed['script']}; style-src {allowed['style']}; "
        "img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )


def _hashes(kind: str, pages: tuple[str, ...]) -> list[str]:
    inside = re.compile(f"<{kind}>(.*?)</{kind}>", re.DOTALL)
    texts = [text for page in pages for text in inside.findall(page)]
    digests = [hashlib.sha256(text.encode()).digest() for text in texts]
    return [f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests]


POLICY = _policy(PAGE, _EXPLAIN)
