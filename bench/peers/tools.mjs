// `@modelcontextprotocol/server` with skills, a tool, a resource and a template of resources.

import { McpServer, ResourceTemplate } from '@modelcontextprotocol/server';
import { loadSkills } from '@modelcontextprotocol/server/ext/skills/node';
import { folder, serve } from './serve.mjs';

const skills = await loadSkills(folder);

serve(() => {
    const server = new McpServer({ name: 'tools', version: '1.0.0' });
    skills.attach(server);
    server.registerTool('find', { description: 'Finds a note.' }, async () => ({
        content: [{ type: 'resource_link', uri: 'notes:///one', name: 'one' }]
    }));
    server.registerTool('erase', { description: 'Erases everything.' }, async () => ({
        content: [{ type: 'text', text: 'erased' }]
    }));
    const text = (uri, text) => ({ contents: [{ uri, mimeType: 'text/plain', text }] });
    const about = { description: 'A note.', mimeType: 'text/plain' };
    server.registerResource('one', 'notes:///one', about, async uri => text(uri.href, 'note one'));
    server.registerResource('private', 'private:///one', about, async uri => text(uri.href, 'private'));
    const template = new ResourceTemplate('notes:///by-name/{name}', { list: undefined });
    server.registerResource('note', template, about, async (uri, { name }) => text(uri.href, `note ${name}`));
    return server;
});
