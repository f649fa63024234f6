import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { compileFunction } from 'node:vm'

/** V8 orders a part of the code by random numbers. This flag is the one that it lets differ between making and use. */
const SAME_EACH_TIME = '--random-seed=1'

/**
 * Compiles a program for `.build/start.cjs`. The same program gives the same bytes each time. Only the same version of
 * Node on the same kind of machine can use them.
 *
 * @param {string} program The path of a CommonJS file.
 * @param {string} codeCache The path of the file that it makes.
 */
export async function writeCodeCache(program, codeCache) {
  const words = [SAME_EACH_TIME, import.meta.filename, program, codeCache]
  // Variables such as NODE_OPTIONS and FORCE_COLOR change the code.
  await promisify(execFile)(process.execPath, words, { env: {} })
}

if (import.meta.main) {
  const [program = '', codeCache = ''] = process.argv.slice(2)
  const made = compileFunction(await readFile(program, 'utf8'), ['require', 'builtParts'], {
    produceCachedData: true,
  })
  if (made.cachedData === undefined) throw new Error(`V8 makes no code cache of ${program}`)
  await writeFile(codeCache, made.cachedData)
}
