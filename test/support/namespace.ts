import assert from 'node:assert/strict'
import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { promisify } from 'node:util'
import type { Lifetime } from './temporary-folder.ts'

const isRefused = spawnSync('unshare', ['--map-root-user', '--mount', 'true']).status !== 0

/** For the `skip` of a test that mounts in its own namespace. */
export const noNamespaces: string | false = isRefused && 'this machine lets nobody make namespaces'

/** For `through`: mounts the folder read-only for the command. */
export function withReadOnly(folder: string): string[] {
  const script = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'
  return ['unshare', '--map-root-user', '--mount', '/bin/sh', '-c', script, folder]
}

/** A small file system, visible only to commands run through `through`. */
export interface SmallDisk {
  /** Runs a command that sees the disk at its folder. */
  readonly through: string[]
  /** The path for all other processes. */
  readonly outside: string
  /** Changes its size in bytes; never below what is in use. */
  resize(bytes: number): Promise<void>
}

/** Mounts an empty disk at a folder until the test ends. */
export async function mountSmallDisk(t: Lifetime, folder: string, bytes: number): Promise<SmallDisk> {
  const script = `mount -t tmpfs -o mode=0700,size=${bytes} none "$0" && echo mounted && exec cat`
  const keeper = spawn('unshare', ['--map-root-user', '--mount', '/bin/sh', '-c', script, folder], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const exited = once(keeper, 'exit')
  t.after(async () => {
    keeper.stdin.end()
    await exited
  })
  await Promise.race([once(keeper.stdout, 'data'), exited.then(() => assert.fail('nothing was mounted'))])
  const through = ['nsenter', '--preserve-credentials', '--user', '--mount', `--target=${keeper.pid}`]
  return {
    through,
    outside: `/proc/${keeper.pid}/root${folder}`,
    async resize(size) {
      const [command = '', ...args] = [...through, 'mount', '-o', `remount,size=${size}`, folder]
      await promisify(execFile)(command, args)
    },
  }
}
