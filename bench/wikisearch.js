/* node wikisearch.js ENGINE INDEX < questions, one JSON string a line > answers with the bytes and milliseconds each took. */
"use strict";
const fs = require("fs");
const [engine, index] = process.argv.slice(2);
const { makeAnswer, valueOf } = require(fs.realpathSync(engine));

async function main() {
  let bytes = 0;
  const fetched = async name => {
    const script = fs.readFileSync(`${index}/${name}.js`);
    if (name !== "start" && name !== "titles") bytes += script.length;
    return valueOf(script.toString());
  };
  for (const line of fs.readFileSync(0, "utf8").split("\n").filter(Boolean)) {
    bytes = 0;
    const begun = performance.now();
    const items = await makeAnswer(fetched)(JSON.parse(line));
    const ms = performance.now() - begun;
    process.stdout.write(JSON.stringify({ found: items.map(([page]) => page.location), bytes, ms }) + "\n");
  }
}
main();
