"""A few shapes with one look for every figure of docs/: plain SVG text with no dependency, the same bytes on every machine."""
INK, GREY, PALE, LINE = "#1f2933", "#52606d", "#eef2f5", "#9aa5b1"
TEAL, TEAL_PALE = "#0f766e", "#ccebe7"
AMBER, AMBER_PALE = "#b45309", "#fbe6cc"
BLUE, BLUE_PALE = "#1d4ed8", "#d6e2fb"
RED, RED_PALE = "#b91c1c", "#f9d5d5"


def number(v):
    return f"{v:.2f}".rstrip("0").rstrip(".")


def escape(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


class Figure:
    """Collects shapes; y grows downwards, units are pixels. `title` is what a screen reader says."""

    def __init__(self, width, height, title):
        self.width, self.height, self.title, self.parts = width, height, title, []

    def rect(self, x, y, w, h, fill=PALE, stroke=LINE, radius=2, dash=None, width=1):
        extra = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(f'<rect x="{number(x)}" y="{number(y)}" width="{number(w)}" height="{number(h)}" rx="{radius}" fill="{fill}" '
                          f'stroke="{stroke}" stroke-width="{number(width)}"{extra}/>')

    def circle(self, x, y, r, fill=INK, stroke="none"):
        self.parts.append(f'<circle cx="{number(x)}" cy="{number(y)}" r="{number(r)}" fill="{fill}" stroke="{stroke}"/>')

    def line(self, x1, y1, x2, y2, stroke=INK, width=1.2, dash=None, arrow=False):
        extra = (f' stroke-dasharray="{dash}"' if dash else "") + (f' marker-end="url(#{stroke[1:]})"' if arrow else "")
        self.parts.append(f'<line x1="{number(x1)}" y1="{number(y1)}" x2="{number(x2)}" y2="{number(y2)}" stroke="{stroke}" '
                          f'stroke-width="{number(width)}"{extra}/>')

    def path(self, points, stroke=INK, width=1.6):
        d = "M" + " L".join(f"{number(x)},{number(y)}" for x, y in points)
        self.parts.append(f'<path d="{d}" fill="none" stroke="{stroke}" stroke-width="{number(width)}" stroke-linejoin="round"/>')

    def text(self, x, y, words, size=13, fill=INK, anchor="start", bold=False, mono=False):
        span = len(words) * size * (0.62 if bold else 0.57)  # of the widest common fonts
        left = x - span * {"start": 0, "middle": 0.5, "end": 1}[anchor]
        if left < 0 or left + span > self.width:
            raise ValueError(f"'{words}' does not fit: {left:.0f} to {left + span:.0f} of {self.width}")
        family = "ui-monospace, 'DejaVu Sans Mono', monospace" if mono else "system-ui, 'DejaVu Sans', sans-serif"
        weight = ' font-weight="600"' if bold else ""
        self.parts.append(f'<text x="{number(x)}" y="{number(y)}" font-family="{family}" font-size="{size}" fill="{fill}" '
                          f'text-anchor="{anchor}"{weight}>{escape(words)}</text>')

    def box(self, x, y, w, h, words, fill=PALE, stroke=LINE, size=13, color=INK, bold=False, mono=False):
        """A rectangle with centred lines of text, separated by newlines."""
        self.rect(x, y, w, h, fill, stroke, 4)
        lines = words.split("\n")
        step = size * 1.3
        for i, line in enumerate(lines):
            self.text(x + w / 2, y + h / 2 + size * 0.36 + (i - (len(lines) - 1) / 2) * step, line, size, color, "middle", bold and i == 0, mono)

    def render(self):
        colours = sorted({part.split('url(#')[1].split(")")[0] for part in self.parts if "url(#" in part})
        heads = "".join(f'<marker id="{c}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse">'
                        f'<path d="M0,0.5 L8,4 L0,7.5 Z" fill="#{c}"/></marker>' for c in colours)
        body = "\n".join(self.parts)
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" width="{self.width}" height="{self.height}" '
                f'role="img">\n<title>{escape(self.title)}</title>\n<defs>{heads}</defs>\n'
                f'<rect width="{self.width}" height="{self.height}" rx="6" fill="#ffffff"/>\n{body}\n</svg>\n')
