import { join } from 'node:path'
import { build } from 'esbuild'

const root = join(import.meta.dirname, '../..')

/**
 * Bundles the program as the build does, and gives the words that run it on plain Node, with other code loaded before.
 * The executable lets nothing be loaded into it.
 *
 * @param folder Gets the bundle.
 * @param preloaded The path of a CommonJS file.
 */
export async function bundleProgram(folder: string, preloaded: string): Promise<[string, ...string[]]> {
  const outfile = join(folder, 'connbook.cjs')
  await build({
    absWorkingDir: root,
    entryPoints: ['src/main.ts'],
    outfile,
    tsconfig: join(root, 'tsconfig.json'),
    bundle: true,
    format: 'cjs',
    platform: 'node',
    target: 'node26',
    // Any folder of the source: some files are found from there.
    define: { 'import.meta.dirname': JSON.stringify(join(root, 'src/resources')) },
  })
  return [process.execPath, '--disable-sigusr1', '--require', preloaded, outfile]
}
