/* Search of a site that is read from files: a browser lets no page of file:// start a Worker.

This is a Worker for that case alone: a hidden frame of the same origin runs the script, and messages pass between
it and the page. It offers what the search uses: postMessage, onmessage or "message" events, importScripts, terminate. */
(() => {
  "use strict";
  if (location.protocol !== "file:") return;

  class FrameWorker extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.onload = () => this.start(new URL(url, document.baseURI).href);
      document.body.append(this.frame);
    }

    start(url) {
      const inside = this.frame.contentWindow;
      this.frame.onload = null;
      // The page listens to the worker's messages; the worker's own postMessage is the way to the page.
      this.deliver = data => inside.dispatchEvent(new inside.MessageEvent("message", { data }));
      inside.postMessage = data => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        if (this.onmessage) this.onmessage(event);
      };
      inside.importScripts = (...urls) =>
        urls.reduce((before, each) => before.then(() => load(inside, new URL(each, url).href)), Promise.resolve());
      load(inside, url).then(() => {
        const waiting = this.waiting;
        this.waiting = null;
        waiting.forEach(data => this.deliver(data));
      });
    }

    postMessage(data) {
      if (this.waiting) this.waiting.push(data);
      else setTimeout(() => this.deliver(data));
    }

    terminate() {
      this.frame.remove();
    }
  }

  function load(inside, url) {
    return new Promise((done, failed) => {
      const script = inside.document.createElement("script");
      script.src = url;
      script.onload = done;
      script.onerror = failed;
      inside.document.body.append(script);
    });
  }

  window.Worker = FrameWorker;
})();
