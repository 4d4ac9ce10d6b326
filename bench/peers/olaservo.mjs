// `@olaservo/ext-skills`: discovers once, registers every skill on each server the factory makes, as
// its README says for the 2026-07-28 revision. Over HTTP that is once per request.

import { McpServer } from '@modelcontextprotocol/server';
import { discoverSkills, registerSkillResources } from '@olaservo/ext-skills/server';
import { folder, serve } from './serve.mjs';

const skills = discoverSkills(folder);

serve(() => {
    const server = new McpServer(
        { name: 'olaservo', version: '1.0.0' },
        { capabilities: { resources: {} } },
    );
    registerSkillResources(server, skills, folder, { template: true, directoryRead: true });
    return server;
});
