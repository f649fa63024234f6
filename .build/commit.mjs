import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** What an executable is made from: a change elsewhere, such as in a test, makes no other executable. */
export const SOURCES = ['.build', 'build.mjs', 'package-lock.json', 'package.json', 'src', 'tsconfig.json']

/** Variables by which a hook of Git, which may start the build, names another repository or another index. */
const OF_HOOKS = ['GIT_DIR', 'GIT_INDEX_FILE', 'GIT_WORK_TREE']

/**
 * `day` and `seconds` are when it was committed: the day in UTC, and the seconds since 1970.
 *
 * @typedef {{ hash: string, day: string, seconds: number }} Commit
 */

/**
 * The commit that a checkout holds, unchanged; else why no commit can be named. An executable that is made from changed
 * files must not name the commit before the changes.
 *
 * @param {string} checkout
 * @returns {Promise<Commit | string>}
 */
export async function findCommit(checkout) {
  const others = Object.entries(process.env).filter(([name]) => !OF_HOOKS.includes(name))
  const env = { ...Object.fromEntries(others), LC_ALL: 'C' }
  /** @type {(...words: string[]) => Promise<string>} */
  const git = async (...words) =>
    (await promisify(execFile)('git', ['-C', checkout, '--no-optional-locks', ...words], { env })).stdout
  try {
    if ((await git('rev-parse', '--show-prefix')).trim() !== '') return 'this folder is no clone of its own'
    const head = await git('rev-list', '--max-count=1', '--timestamp', 'HEAD')
    const [time = '', hash = ''] = head.trim().split(' ')
    const changed = await git('status', '--porcelain', '--untracked-files=all', '--', ...SOURCES)
    if (changed !== '') return `${changed.split('\n')[0]?.slice(3)} is not as it was committed`
    const seconds = Number(time)
    return { hash, day: new Date(seconds * 1000).toISOString().slice(0, 10), seconds }
  } catch (error) {
    return whyNot(error)
  }
}

/** @param {unknown} error */
function whyNot(error) {
  const { code, stderr } = /** @type {{ code?: unknown, stderr?: string }} */ (error)
  if (code === 'ENOENT') return 'git is missing'
  return stderr?.trimEnd().split('\n')[0] ?? String(error)
}
