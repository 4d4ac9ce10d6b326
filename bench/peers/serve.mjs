// What the two npm peers share: a factory of servers, served over stdio or HTTP as the SDK documents.
//
//   node FILE DIR          speaks over standard input and output
//   node FILE DIR --http   listens on a free port of the loopback and prints `listening on URL`

import { createServer } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

/** The folder to serve, from the command line. */
export const folder = process.argv[2];

/** Serves what `factory` makes until standard input ends. */
export function serve(factory) {
    if (process.argv[3] !== '--http') {
        serveStdio(factory);
        return;
    }
    const handler = toNodeHandler(createMcpHandler(factory));
    const server = createServer(handler);
    server.listen(0, '127.0.0.1', () => {
        console.log(`listening on http://127.0.0.1:${server.address().port}/mcp`);
    });
    // The benchmark holds the other end: when it goes away, so does this server.
    process.stdin.on('end', () => process.exit(0)).resume();
}
