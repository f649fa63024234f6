import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type BuiltParts, parts } from '../built.ts'

/** A file of the console, in both forms in which it is sent. */
export interface ConsoleFile {
  /** Behind `/console/`; empty for the page. */
  readonly name: string
  /** The value of `Content-Type`. */
  readonly type: string
  readonly bytes: Uint8Array
  readonly gzip: Uint8Array
  /** Strong, of `bytes`. */
  readonly etag: string
  /** Strong, of `gzip` (RFC 9110 section 8.8.3: another form of the same content needs another tag). */
  readonly gzipEtag: string
}

/** Where the build puts the files: each by its name, and once more as gzip; and a list of them, without the bytes. */
export const consoleAssets = {
  list: 'console.json',
  bytes: (name: string) => `console/${name}`,
  gzip: (name: string) => `console/${name}.gz`,
}

/** Reads the files that the build has made; in a run from source, makes them as the build does. */
export async function readConsole(): Promise<readonly ConsoleFile[]> {
  return parts === undefined ? makeConsole() : readMade(parts)
}

function readMade({ text, bytes }: BuiltParts): readonly ConsoleFile[] {
  const list: Omit<ConsoleFile, 'bytes' | 'gzip'>[] = JSON.parse(text(consoleAssets.list))
  return list.map((file) => ({
    ...file,
    bytes: bytes(consoleAssets.bytes(file.name)),
    gzip: bytes(consoleAssets.gzip(file.name)),
  }))
}

async function makeConsole(): Promise<readonly ConsoleFile[]> {
  // A computed path, so that the bundler leaves it alone.
  const maker = pathToFileURL(join(import.meta.dirname, '../../.build/console.mjs'))
  const loaded: { makeConsole: () => Promise<readonly ConsoleFile[]> } = await import(maker.href)
  return loaded.makeConsole()
}
