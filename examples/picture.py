"""A few lines of SVG: dots, lines and a legend, without any other package."""

from __future__ import annotations

from pathlib import Path
from xml.sax.saxutils import escape

Point = tuple[float, float]


class Picture:
    """A picture of points between 0 and 1, drawn in the order of the calls."""

    def __init__(self, title: str, width: int = 640, height: int = 480) -> None:
        """Begin a picture."""
        self.width, self.height = width, height
        self.legend: dict[str, str] = {}
        self.parts = [f'<text x="12" y="22" font-size="15" font-weight="bold">{escape(title)}</text>']

    def place(self, point: Point) -> Point:
        """Give the place of a point in pixels."""
        return 20 + point[0] * (self.width - 40), 70 + point[1] * (self.height - 90)

    def line(
        self, start: Point, end: Point, color: str, width: float = 1.0, label: str | None = None
    ) -> None:
        """Draw a line."""
        (x1, y1), (x2, y2) = self.place(start), self.place(end)
        self.parts.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
            f'stroke="{color}" stroke-width="{width}"/>'
        )
        self._explain(color, label)

    def dot(self, point: Point, color: str, radius: float = 3.0, label: str | None = None) -> None:
        """Draw a dot."""
        x, y = self.place(point)
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{color}"/>')
        self._explain(color, label)

    def _explain(self, color: str, label: str | None) -> None:
        if label is not None:
            self.legend[label] = color

    def write(self, path: Path) -> None:
        """Write the picture with its legend."""
        x, explained = 14, []
        for label, color in self.legend.items():
            explained.append(f'<circle cx="{x}" cy="44" r="5" fill="{color}"/>')
            explained.append(f'<text x="{x + 10}" y="48" font-size="12">{escape(label)}</text>')
            x += 30 + 7 * len(label)
        path.write_text(
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{self.height}" '
            f'font-family="sans-serif"><rect width="100%" height="100%" fill="white"/>'
            + "\n".join([*self.parts, *explained])
            + "</svg>\n",
            encoding="utf-8",
        )
