import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** What the executable is made from, besides `src`. */
const sources = [
  'build.mjs',
  '.build/any-node.cjs',
  '.build/code-cache.mjs',
  '.build/commit.mjs',
  '.build/console.mjs',
  '.build/sbom.mjs',
  '.build/start.cjs',
  '.build/strip-symbols.mjs',
  'package.json',
  'tsconfig.json',
]

/** What is wrong with the executable of a checkout, and what to do; undefined if it is newer than everything it is made from. */
export function staleBuild(root: string): string | undefined {
  const built = mtimeOf(join(root, 'dist/connbook'))
  if (built === undefined) return 'There is no dist/connbook; run: npm run build'
  const inSrc = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  let [newest, newestMs] = ['', built]
  for (const path of [...sources, ...inSrc.map((name) => `src/${name}`)]) {
    const changed = mtimeOf(join(root, path)) ?? 0
    if (changed > newestMs) [newest, newestMs] = [path, changed]
  }
  return newest === '' ? undefined : `dist/connbook is older than ${newest}; run: npm run build`
}

/** In milliseconds. */
function mtimeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs
}
