import { defineCommand } from '../command-line/command.ts'
import { shown } from '../command-line/output.ts'
import { describeRoutes } from '../resources/routes.ts'

export const openApiCommand = defineCommand({
  name: 'openapi',
  summary: 'print a description of all calls, as an OpenAPI document',
  examples: [
    ['connbook openapi > openapi.json', 'the same as GET /openapi.json'],
    ['connbook openapi --base-path /conf', 'of a server with this option'],
  ],
  flags: ['basePath', 'metricsPublic', 'noConsole'],
  async run({ options }, { print }) {
    await shown(print(describeRoutes(options)), 'show the document')
  },
})
