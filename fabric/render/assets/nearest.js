// The part of a drawing that is nearest to the pointer: lines are too thin to hit, with a finger above all.
"use strict";
const nearestPart = (event, items) => {
  const svg = event.target.closest("svg");
  if (!svg) return null;
  const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
  let best = null;
  let least = 18;
  items.filter((item) => item.mark.ownerSVGElement === svg).forEach((item) => {
    let distance;
    if (item.mark.tagName === "line") {
      const [x1, y1, x2, y2] = ["x1", "y1", "x2", "y2"].map((name) => item.mark[name].baseVal.value);
      const along = Math.max(0, Math.min(1, ((point.x - x1) * (x2 - x1) + (point.y - y1) * (y2 - y1)) /
        ((x2 - x1) ** 2 + (y2 - y1) ** 2 || 1)));
      distance = Math.hypot(point.x - x1 - along * (x2 - x1), point.y - y1 - along * (y2 - y1));
    } else {
      const its = item.mark.getBBox();
      const inside = point.x >= its.x && point.x <= its.x + its.width && point.y >= its.y && point.y <= its.y + its.height;
      distance = inside ? 0 : Math.hypot(point.x - its.x - its.width / 2, point.y - its.y - its.height / 2);
    }
    if (distance < least) { least = distance; best = item; }
  });
  return best;
};
