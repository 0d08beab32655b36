// node node.js <folder with node_modules> <url>: prints what `exercise` returns, as JSON.
const [folder, url] = process.argv.slice(2);
const load = (name) => require(require.resolve(name, { paths: [folder] }));
if (!globalThis.WebSocket) globalThis.WebSocket = load("ws"); // Node has its own since version 22
require("./exercise.js").exercise(load("@nats-io/nats-core"), url).then(
  (result) => console.log(JSON.stringify(result)),
  (error) => { console.error(error); process.exit(1); },
);
