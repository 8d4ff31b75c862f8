// Makes what is shown equal to what has come, touching only what is different: so focus, selection,
// scrolling, opened details and running animations stay.

function keyOf(node) {
  if (node.nodeType !== Node.ELEMENT_NODE) return null;
  return node.dataset?.key ?? (node.id || null);
}

function alike(a, b) {
  return a.nodeType === b.nodeType && a.nodeName === b.nodeName && keyOf(a) === keyOf(b);
}

// Whoever opened details did so here; the server does not know.
function keepsState(element, name) {
  return name === "open" && element.nodeName === "DETAILS";
}

function morphAttributes(shown, come) {
  for (const { name, value } of [...come.attributes]) {
    if (shown.getAttribute(name) !== value && !keepsState(shown, name)) shown.setAttribute(name, value);
  }
  for (const { name } of [...shown.attributes]) {
    if (!come.hasAttribute(name) && !keepsState(shown, name)) shown.removeAttribute(name);
  }
}

function morphChildren(shown, come) {
  const keyed = new Map();
  for (const child of shown.childNodes) {
    const key = keyOf(child);
    if (key !== null) keyed.set(key, child);
  }
  let place = shown.firstChild;
  for (const child of [...come.childNodes]) {
    const key = keyOf(child);
    let match = key === null ? place : (keyed.get(key) ?? null);
    // An unkeyed child never takes the place of a keyed one: that may be wanted further down.
    while (key === null && match && keyOf(match) !== null && !alike(match, child)) match = match.nextSibling;
    if (match && alike(match, child)) {
      if (match === place) place = place.nextSibling;
      else shown.insertBefore(match, place);
      morph(match, child);
    } else {
      shown.insertBefore(child, place);
    }
  }
  while (place) {
    const next = place.nextSibling;
    place.remove();
    place = next;
  }
}

export function morph(shown, come) {
  if (shown.nodeType !== Node.ELEMENT_NODE) {
    if (shown.data !== come.data) shown.data = come.data;
    return;
  }
  morphAttributes(shown, come);
  if ("keep" in shown.dataset) return;
  morphChildren(shown, come);
}
