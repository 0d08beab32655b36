// What a program with nats.js does with a server, in Node and in a browser. Returns what it has seen.
async function exercise(core, url) {
  const connection = await core.wsconnect({ servers: url, name: "nats.js", reconnect: false });
  const sizes = [];
  const seen = connection.subscribe("js.>", {
    callback: (error, message) => sizes.push(error ? -1 : message.data.length),
  });
  connection.subscribe("js-service", {
    callback: (error, message) => message.respond(message.data, { headers: message.headers }),
  });
  for (let number = 0; number < 1000; number++) {
    connection.publish(`js.${number}`, new Uint8Array(number * 10));
  }
  connection.publish("js.large", new Uint8Array(900000));
  await connection.flush();
  const headers = core.headers();
  headers.set("Color", "blue");
  const reply = await connection.request("js-service", "hello", { timeout: 10000, headers });
  await seen.drain();
  const result = {
    server: connection.info.server_name,
    sizes,
    reply: reply.string(),
    color: reply.headers.get("Color"),
  };
  await connection.close();
  return result;
}
if (typeof module !== "undefined") module.exports = { exercise };
