// Drives the official TypeScript client: one JSON command on each line in, one JSON answer out.
//
//     node clients/drive.mjs '{"era":"modern","forms":true,"command":["skillwire","bridge"]}'
//     node clients/drive.mjs '{"era":"legacy","forms":false,"url":"http://…/mcp","token":"…"}'

import { createInterface } from 'node:readline';

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const settings = JSON.parse(process.argv[2]);
const client = new Client(
    { name: 'skillwire-peer', version: '1' },
    {
        capabilities: settings.forms ? { elicitation: { form: {} } } : {},
        versionNegotiation: { mode: settings.era === 'modern' ? { pin: '2026-07-28' } : 'legacy' }
    }
);

let answer = null;
let form = null;
if (settings.forms) {
    client.setRequestHandler('elicitation/create', async request => {
        form = request.params;
        return answer;
    });
}

function transport() {
    if (settings.command) {
        const [command, ...args] = settings.command;
        return new StdioClientTransport({ command, args, env: process.env, stderr: 'inherit' });
    }
    const headers = { Authorization: `Bearer ${settings.token}` };
    return new StreamableHTTPClientTransport(new URL(settings.url), { requestInit: { headers } });
}

const operations = {
    tools: async () => (await client.listTools()).tools.map(tool => tool.name),
    resources: async () => (await client.listResources()).resources.map(resource => resource.uri),
    templates: async () =>
        (await client.listResourceTemplates()).resourceTemplates.map(template => template.uriTemplate),
    prompts: async () => (await client.listPrompts()).prompts.map(prompt => prompt.name),
    prompt: ({ name }) => client.getPrompt({ name }),
    call: ({ tool, arguments: given }) => client.callTool({ name: tool, arguments: given }),
    read: ({ uri }) => client.readResource({ uri }),
    instructions: async () => client.getInstructions() ?? ''
};

await client.connect(transport());
for await (const line of createInterface({ input: process.stdin })) {
    const command = JSON.parse(line);
    ({ answer = null } = command);
    form = null;
    let told;
    try {
        told = { result: await operations[command.op](command), form };
    } catch (error) {
        told = { error: String(error), form };
    }
    process.stdout.write(`${JSON.stringify(told)}\n`);
}
await client.close();
