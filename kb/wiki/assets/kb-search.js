/* How pages reach the parts of the search index; the theme's search starts nothing before it is asked something. */
"use strict";
(() => {
  const top = new URL("../", document.currentScript.src), Native = window.Worker;
  const waiting = new Map(), SETUP = 0, READY = 1, QUERY = 2, RESULT = 3;

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

  /* Where a browser starts no workers (file:), the search runs inside the page. */
  async function startHere(port) {
    await script(new URL("assets/kb-search-engine.js", top));
    const told = window.kbBegin(port, window.kbPart);
    told({ type: SETUP });
    return told;
  }
  function startWorker(port, url) {
    const worker = new Native(url);
    worker.addEventListener("message", ({ data }) => data.type !== READY && port(data));
    worker.postMessage({ type: SETUP });
    return message => worker.postMessage(message);
  }

  window.Worker = class extends EventTarget {
    constructor(url, options) {
      super();
      if (location.protocol !== "file:" && !/workers\/search\.\w+\.min\.js/.test(url)) return new Native(url, options);
      this.port = data => data.type === RESULT && this.dispatchEvent(new MessageEvent("message", { data }));
      this.begin = () => (this.told ||= Promise.resolve(location.protocol === "file:" ? startHere(this.port) : startWorker(this.port, url)));
      window.kbWake = this.begin;
    }
    postMessage(message) {
      if (message.type === SETUP) setTimeout(() => this.dispatchEvent(new MessageEvent("message", { data: { type: READY } })));
      else if (message.type === QUERY && !message.data) this.port({ type: RESULT, data: { items: [] } });
      else this.begin().then(told => told(message));
    }
    terminate() {}
  };
})();
