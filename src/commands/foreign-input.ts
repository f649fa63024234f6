import { describeForeignFile, FOREIGN_HEAD_CHARACTERS } from '../exchange/foreign-file.ts'
import { isStandardInput } from '../files/input.ts'
import { openPlainFile } from './ssh-config-files.ts'

/**
 * What a file of another tool is, and the way from there, to complete "The file …".
 *
 * @returns Undefined for other files, and for standard input, which can be read only once.
 */
export async function describeForeignInput(source: string): Promise<string | undefined> {
  if (isStandardInput(source)) return undefined
  return describeForeignFile(await readHead(source).catch(() => ''), source)
}

async function readHead(path: string): Promise<string> {
  const file = await openPlainFile(path)
  try {
    const bytes = await file.read()
    const isWide = bytes[0] === 0xff && bytes[1] === 0xfe
    const head = bytes.subarray(0, FOREIGN_HEAD_CHARACTERS * 2)
    return new TextDecoder(isWide ? 'utf-16le' : 'utf-8').decode(head)
  } finally {
    await file.close()
  }
}
