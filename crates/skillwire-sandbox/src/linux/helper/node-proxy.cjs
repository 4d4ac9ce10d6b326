// Makes requests of Node go through the proxy that HTTPS_PROXY names, for versions that do not do so
// by themselves when NODE_USE_ENV_PROXY is set.
'use strict';
const proxy = process.env.HTTPS_PROXY && new URL(process.env.HTTPS_PROXY);
const [major, minor] = process.versions.node.split('.').map(Number);
const isBuiltIn = major > 24 || (major === 24 && minor >= 5) || (major === 22 && minor >= 21);
if (proxy && !isBuiltIn) {
  const net = require('net');
  const tls = require('tls');

  // Asks the proxy for a connection to a host, and passes the socket on once it has one.
  const tunnel = (host, port, done) => {
    const socket = net.connect(Number(proxy.port), proxy.hostname);
    let head = Buffer.alloc(0);
    const fail = (error) => done(error);
    const read = (piece) => {
      head = Buffer.concat([head, piece]);
      const end = head.indexOf('\r\n\r\n');
      if (end < 0) return;
      socket.removeListener('data', read);
      socket.removeListener('error', fail);
      socket.pause();
      const status = head.toString('latin1', 0, end).split('\r\n')[0].split(' ')[1];
      if (status !== '200') {
        socket.destroy();
        done(new Error(`the proxy does not connect to ${host}:${port} (status ${status})`));
        return;
      }
      if (head.length > end + 4) socket.unshift(head.subarray(end + 4));
      done(null, socket);
    };
    socket.once('error', fail);
    socket.on('data', read);
    const name = host.includes(':') ? `[${host}]` : host;
    socket.write(`CONNECT ${name}:${port} HTTP/1.1\r\nHost: ${name}:${port}\r\n\r\n`);
  };
  const bare = (host) => host.replace(/^\[|\]$/g, '');
  const secure = (options, socket) =>
    tls.connect({ ...options, socket, servername: options.servername || (net.isIP(options.host) ? '' : options.host) });

  const http = require('http');
  const https = require('https');
  http.globalAgent.createConnection = (options, done) => {
    tunnel(bare(options.host || options.hostname || 'localhost'), options.port || 80, (error, socket) => {
      done(error, socket);
      // The request takes the socket in the next turn.
      if (socket) process.nextTick(() => process.nextTick(() => socket.resume()));
    });
  };
  https.globalAgent.createConnection = (options, done) => {
    tunnel(bare(options.host || options.hostname || 'localhost'), options.port || 443, (error, socket) =>
      error ? done(error) : done(null, secure(options, socket)));
  };

  // `fetch` has a dispatcher of its own, which exists once its module was loaded.
  const key = Symbol.for('undici.globalDispatcher.1');
  const fetch = globalThis.fetch;
  let prepared = false;
  const prepare = () => {
    prepared = true;
    void globalThis.Headers;
    const Agent = globalThis[key] && globalThis[key].constructor;
    if (!Agent) return;
    globalThis[key] = new Agent({
      connect: (options, done) => {
        const isSecure = options.protocol === 'https:';
        const host = bare(options.hostname);
        tunnel(host, options.port || (isSecure ? 443 : 80), (error, socket) => {
          if (error || !isSecure) return done(error, socket);
          const wrapped = secure({ host, servername: options.servername, ALPNProtocols: ['http/1.1'] }, socket);
          wrapped.once('error', done);
          wrapped.once('secureConnect', () => done(null, wrapped));
        });
      },
    });
  };
  if (fetch) {
    globalThis.fetch = function (...words) {
      if (!prepared) prepare();
      return fetch.apply(this, words);
    };
  }
}
