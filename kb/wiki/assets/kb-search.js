/* How pages reach the parts of the search index, and the search itself where a browser starts no workers (file:). */
"use strict";
(() => {
  const top = new URL("../", document.currentScript.src);
  const waiting = new Map();

  const script = url => new Promise((done, failed) => {
    const element = document.createElement("script");
    Object.assign(element, { src: url, onload: done, onerror: () => failed(new Error(`${url}`)) });
    document.head.append(element);
  });

  window.kbFound = (name, value) => waiting.get(name)?.(value);
  window.kbPart = name => new Promise((done, failed) => {
    waiting.set(name, done);
    script(new URL(`search/kb/${name}.js`, top)).catch(failed);
  });

  if (location.protocol !== "file:") return;
  window.Worker = class extends EventTarget {
    constructor() {
      super();
      const port = data => this.dispatchEvent(new MessageEvent("message", { data }));
      this.told = script(new URL("assets/kb-search-engine.js", top)).then(() => window.kbBegin(port, window.kbPart));
    }
    postMessage(message) {
      this.told.then(told => told(message));
    }
    terminate() {}
  };
})();
