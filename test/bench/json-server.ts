import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { fieldsOf, newPath } from './data-folders.ts'
import { type ServerProcess, startServerOnFreePort } from './server-process.ts'
import { node } from './servers.ts'

const program = fileURLToPath(new URL('node_modules/json-server/lib/cli/bin.js', import.meta.url))

/** Starts json-server with `record-1` and so on, and waits until it answers. */
export async function startJsonServer(workshop: string, records: number): Promise<ServerProcess> {
  const path = `${await newPath(workshop)}.json`
  const configurations = Array.from({ length: records }, (_, i) => ({ id: i + 1, ...fieldsOf(i + 1) }))
  await writeFile(path, JSON.stringify({ configurations }))
  const argsFor = (port: number) => [
    program,
    ...['--host', '127.0.0.1', '--port', String(port), '--quiet', path],
  ]
  const server = await startServerOnFreePort(node, argsFor, { isForeign: true })
  await server.untilAnswered('/configurations/1')
  return server
}
