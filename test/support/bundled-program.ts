import { join } from 'node:path'
import { build } from 'esbuild'

const root = join(import.meta.dirname, '../..')

/**
 * Bundles the program as the build does, and gives the words that run it on plain Node, perhaps with other code loaded
 * before: the executable lets nothing be loaded into it.
 *
 * @param folder Gets the bundle.
 * @param preloaded The path of a CommonJS file.
 * @param project The checkout, or a copy of one.
 */
export async function bundleProgram(
  folder: string,
  { preloaded, project = root }: { preloaded?: string; project?: string } = {},
): Promise<[string, ...string[]]> {
  const outfile = join(folder, 'connbook.cjs')
  await build({
    absWorkingDir: project,
    entryPoints: ['src/main.ts'],
    outfile,
    tsconfig: join(project, 'tsconfig.json'),
    bundle: true,
    format: 'cjs',
    platform: 'node',
    target: 'node24.8',
    // Any folder of the source: some files are found from there.
    define: { 'import.meta.dirname': JSON.stringify(join(project, 'src/resources')) },
  })
  const before = preloaded === undefined ? [] : ['--require', preloaded]
  return [process.execPath, '--disable-sigusr1', ...before, outfile]
}
