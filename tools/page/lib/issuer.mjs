// An identity provider on a free port of the loopback, at which users sign in with any name.
import { generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";
import { Provider } from "oidc-provider";

/** Starts a provider that knows one program, which it leads back to one address. */
export async function startIssuer(back) {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const key = { ...privateKey.export({ format: "jwk" }), kid: "first", alg: "RS256", use: "sig" };
  let handle;
  const server = createServer((request, response) => handle(request, response));
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const issuer = `http://127.0.0.1:${server.address().port}`;
  return {
    issuer,
    /** The address to lead back to is known once the hub listens. */
    begin(origin) {
      const provider = new Provider(issuer, {
        jwks: { keys: [key] },
        clients: [{
          client_id: "the-hub",
          client_secret: "a-secret-of-the-hub",
          redirect_uris: [`${origin}${back}`],
          response_types: ["code"],
          grant_types: ["authorization_code"],
        }],
        pkce: { required: () => true },
        cookies: { keys: ["only for tests"] },
      });
      handle = provider.callback();
    },
    end: () => server.close(),
  };
}
