import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, link, mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { executable, type Finished } from '../support/executable.ts'
import { freePort } from '../support/free-port.ts'
import { type Lifetime, temporaryFolder } from '../support/temporary-folder.ts'
import type { Image } from './dockerfile.ts'

const run = promisify(execFile)

/** Paths of the libraries that the executable needs. */
export async function readLibraries(): Promise<string[]> {
  const { stdout } = await run('ldd', [executable])
  return [...new Set(stdout.match(/\/\S+/g))]
}

/**
 * The root of an image that holds only libraries and what the Dockerfile copies.
 *
 * @param mountPoints Paths of files and, ending in a slash, of folders; made as Docker makes them.
 */
export async function makeRoot(t: Lifetime, image: Image, mountPoints: readonly string[]): Promise<string> {
  const root = await temporaryFolder(t)
  for (const library of await readLibraries()) {
    await mkdir(join(root, dirname(library)), { recursive: true })
    await copyFile(library, join(root, library))
  }
  const path = join(root, image.copiedTo)
  await mkdir(dirname(path), { recursive: true })
  await link(executable, path).catch(() => copyFile(executable, path))
  for (const point of mountPoints) {
    await mkdir(join(root, point.endsWith('/') ? point : dirname(point)), { recursive: true })
    if (!point.endsWith('/')) await writeFile(join(root, point), '')
  }
  return root
}

/** A running container. */
export interface BareContainer {
  readonly url: string
  /** Its process 1, by its id outside. */
  readonly pid: number
  /** Runs a command in it, as `docker exec` does, and returns its output; fails unless it exits with 0. */
  execute(command: readonly string[]): Promise<string>
  /** Sends SIGTERM, as `docker stop` does first, and returns the exit code. */
  terminate(): Promise<number | null>
}

/**
 * Runs the entry point as process 1 of its own namespaces, under the image's account, on a read-only root. It is
 * killed when the test ends.
 *
 * @param mounts Path in the container to path outside.
 * @returns Its standard error and exit code if it ends before it listens.
 */
export async function startContainer(
  t: Lifetime,
  root: string,
  image: Image,
  {
    mounts,
    environment,
  }: { mounts: Readonly<Record<string, string>>; environment: Readonly<Record<string, string>> },
): Promise<BareContainer | Finished> {
  const binds = Object.entries(mounts).map(([inside, outside]) => `mount --bind ${outside} ${root}${inside}`)
  const script = [
    `mount --bind ${root} ${root}`,
    `mount -o remount,bind,ro ${root}`,
    ...binds,
    `exec unshare --map-user=${image.uid} --map-group=${image.gid} --root=${root} --wd=/ -- "$0" "$@"`,
  ].join(' && ')
  const env = {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    ...image.environment,
    ...environment,
    // It shares the host's network.
    CONNBOOK_HOST: '127.0.0.1',
    CONNBOOK_PORT: String(await freePort()),
  }
  const outer = ['--map-root-user', '--mount', '--pid', '--fork', '--kill-child', '/bin/sh', '-c', script]
  const child = spawn('unshare', [...outer, ...image.entrypoint], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  t.after(() => void child.kill('SIGKILL'))
  const exited = once(child, 'close') as Promise<[number | null]>
  let stderr = ''
  let url: string | undefined
  for await (const line of createInterface(child.stderr)) {
    stderr += `${line}\n`
    url = /"event":"listening","url":"([^"]+)"/.exec(line)?.[1]
    if (url !== undefined) break
  }
  if (url === undefined) return { code: (await exited)[0], stdout: '', stderr }
  child.stderr.resume()
  const pid = await firstProcess(child)
  return {
    url,
    pid,
    async execute(command) {
      const enter = ['--preserve-credentials', '--user', '--root', '--wd', `--target=${pid}`, '--']
      return (await run('nsenter', [...enter, ...command], { env })).stdout
    },
    async terminate() {
      process.kill(pid, 'SIGTERM')
      return (await exited)[0]
    },
  }
}

/** `unshare` stays outside and waits for its only child. */
async function firstProcess({ pid }: ChildProcess): Promise<number> {
  const child = Number(await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8'))
  const status = await readFile(`/proc/${child}/status`, 'utf8')
  assert.match(status, /^NSpid:.*\t1$/m)
  return child
}
