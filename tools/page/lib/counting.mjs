// Passes requests on to a server, and writes the method of each message, one to a line. A process of its own,
// because tests wait for the commands that they run.
//
//   node counting.mjs URL     writes the address to use instead, then what is asked
import { createServer, request } from "node:http";

const upstream = new URL(process.argv[2]);
const server = createServer((incoming, outgoing) => {
  const pieces = [];
  incoming.on("data", (piece) => pieces.push(piece));
  incoming.on("end", () => {
    const body = Buffer.concat(pieces);
    console.log(body.length ? JSON.parse(body).method ?? "an answer" : incoming.method);
    const headers = { ...incoming.headers, host: upstream.host };
    const passed = request({ host: upstream.hostname, port: upstream.port, path: incoming.url, method: incoming.method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode, answer.headers);
      answer.pipe(outgoing);
    });
    passed.on("error", () => outgoing.destroy());
    outgoing.on("close", () => passed.destroy());
    passed.end(body);
  });
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}${upstream.pathname}`));
