// `@modelcontextprotocol/server` with its own skills extension: one catalogue, loaded once, attached
// to each server the factory makes.

import { McpServer } from '@modelcontextprotocol/server';
import { loadSkills } from '@modelcontextprotocol/server/ext/skills/node';
import { folder, serve } from './serve.mjs';

const skills = await loadSkills(folder);

serve(() => {
    const server = new McpServer({ name: 'official', version: '1.0.0' });
    skills.attach(server);
    return server;
});
