// An identity provider on a free port of the loopback, with clients that stand for workflows of CI.
//
// Each client gets signed tokens for the audience that it asks for, with the claims of a workflow.

import { createServer } from 'node:http';
import { generateKeyPairSync } from 'node:crypto';

import { Provider } from 'oidc-provider';

const workflows = {
    workflow: { repository: 'acme/skills', ref: 'refs/heads/main', sha: '0123abcd' },
    'other-repository': { repository: 'evil/skills', ref: 'refs/heads/main' },
    'other-branch': { repository: 'acme/skills', ref: 'refs/heads/dev' }
};

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const key = { ...privateKey.export({ format: 'jwk' }), kid: 'first', alg: 'RS256', use: 'sig' };

const server = createServer((request, response) => handle(request, response));
let handle;
server.listen(0, '127.0.0.1', () => {
    const issuer = `http://127.0.0.1:${server.address().port}`;
    const provider = new Provider(issuer, {
        jwks: { keys: [key] },
        clients: Object.keys(workflows).map(id => ({
            client_id: id,
            client_secret: 'secret',
            grant_types: ['client_credentials'],
            redirect_uris: [],
            response_types: [],
            token_endpoint_auth_method: 'client_secret_post'
        })),
        extraTokenClaims: (_, token) => workflows[token.clientId],
        features: {
            devInteractions: { enabled: false },
            clientCredentials: { enabled: true },
            resourceIndicators: {
                enabled: true,
                getResourceServerInfo: (_, audience) => ({
                    scope: '',
                    audience,
                    accessTokenFormat: 'jwt',
                    accessTokenTTL: 300,
                    jwt: { sign: { alg: 'RS256' } }
                })
            }
        }
    });
    handle = provider.callback();
    // The path is what the caller looks for; the issuer is the rest.
    process.stdout.write(`listening on ${issuer}/mcp\n`);
});
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
