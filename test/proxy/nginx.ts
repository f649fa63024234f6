import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { missing } from '../support/debian.ts'
import { eventually } from '../support/eventually.ts'
import { freePort } from '../support/free-port.ts'
import { type Lifetime, temporaryFolder } from '../support/temporary-folder.ts'
import { canConnect } from './can-connect.ts'

/** For the `skip` of a test. */
export const noNginx = missing('nginx')

/** A line of nginx's access log. */
export interface NginxLogLine {
  readonly address: string
  readonly status: number
  /** nginx's own id of the request. */
  readonly requestId: string
  /** The id in connbook's answer. */
  readonly upstreamRequestId: string
}

/** The test's own nginx, in its own folder. */
export interface Nginx {
  readonly port: number
  readonly process: ChildProcess
  /** The access log so far; a line is written once the answer has been sent. */
  log(): Promise<NginxLogLine[]>
  /** Logged failures with connbook so far, including those where a retry succeeded. */
  upstreamErrors(): Promise<string[]>
  /** The processes that answer requests. */
  workers(): Promise<string[]>
  stop(signal: NodeJS.Signals): Promise<void>
}

/**
 * Starts nginx and waits until it takes connections; it is stopped when the test or the suite ends.
 *
 * @param site Returns the content of the `http` block for the port that nginx listens on.
 * @param port A free port if not given.
 */
export async function startNginx(t: Lifetime, site: (port: number) => string, port?: number): Promise<Nginx> {
  const folder = await temporaryFolder(t)
  const listening = port ?? (await freePort())
  await mkdir(join(folder, 'temporary'))
  await writeFile(join(folder, 'nginx.conf'), frame(folder, site(listening)))
  const child = spawn('nginx', ['-p', `${folder}/`, '-c', 'nginx.conf', '-e', 'error.log'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const exited = once(child, 'exit')
  const stop = async (signal: NodeJS.Signals) => {
    child.kill(signal)
    await exited
  }
  t.after(() => stop('SIGTERM'))
  await eventually(`nginx listens on port ${listening}`, () => {
    if (child.exitCode !== null) assert.fail(`nginx could not start: ${stderr}`)
    return canConnect(listening)
  })

  return {
    port: listening,
    process: child,
    async log() {
      const lines = (await readFile(join(folder, 'access.log'), 'utf8')).split('\n').slice(0, -1)
      return lines.map((line) => {
        const { status, ...texts } = JSON.parse(line) as NginxLogLine
        return { status: Number(status), ...texts }
      })
    },
    async upstreamErrors() {
      const lines = (await readFile(join(folder, 'error.log'), 'utf8')).split('\n')
      return lines.filter((line) => /\[(error|crit|alert|emerg)\].*upstream/.test(line))
    },
    async workers() {
      const text = await readFile(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8')
      return text.trim().split(' ')
    },
    stop,
  }
}

/** All files of nginx go into the folder, which only this account can open. */
function frame(folder: string, site: string): string {
  const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  const fields = {
    address: '$remote_addr',
    status: '$status',
    requestId: '$request_id',
    upstreamRequestId: '$upstream_http_x_request_id',
  }
  return `
daemon off;
master_process on;
worker_processes 2;
${process.getuid?.() === 0 ? 'user root;' : ''}
pid ${folder}/nginx.pid;
error_log ${folder}/error.log warn;
events { worker_connections 1024; }
http {
  log_format fields escape=json '${JSON.stringify(fields)}';
  access_log ${folder}/access.log fields;
  ${kinds.map((kind) => `${kind}_temp_path ${folder}/temporary;`).join('\n  ')}
${site}
}
`
}
