import { chmod, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type Command, defineCommand } from '../command-line/command.ts'
import { type ManPage, manPages } from '../command-line/man-pages.ts'
import { adviceFor } from '../command-line/nearest.ts'
import { shown } from '../command-line/output.ts'
import { UsageError } from '../errors.ts'
import { realFileSystem } from '../files/file-system.ts'
import { lookBefore, replaceFile } from '../files/replaced-file.ts'
import { abortOnSignals } from './written-file.ts'

const CANNOT_WRITE = 'Cannot write the man page'

/** @param commands Those that the pages describe. */
export const manCommandOf = (commands: () => readonly Command[]) =>
  defineCommand({
    name: 'man',
    operands: '[PAGE]',
    completes: 'topics',
    summary: 'print a page for man(1), or write all of them',
    examples: [
      ['connbook man ls | man -l -', 'read the page of a command'],
      ['connbook man connbook-backup.7 | man -l -', 'the chapter, not the command'],
      ['connbook man --write /usr/local/share/man', 'as files in man1 and man7'],
    ],
    notes: ['Without PAGE it is the page of connbook itself.'],
    flags: ['write'],
    async run({ options: { write }, operands: [name = 'connbook'] }, { print }) {
      const pages = manPages(commands())
      if (write !== undefined) return writePages(pages, write)
      await shown(print(getPage(pages, name).text()), 'show the page')
    },
  })

/** @param name With or without `connbook-` and a section: of equal names, the command comes first. */
function getPage(pages: readonly ManPage[], name: string): ManPage {
  const [, base = name, section] = /^(?:connbook-)?(.*?)(?:\.(\d))?$/.exec(name) ?? []
  const page = pages.find((each) => {
    const isNamed = each.name === base || each.name === `connbook-${base}`
    return isNamed && (section === undefined || Number(section) === each.section)
  })
  if (page !== undefined) return page
  const known = pages.map((each) => each.name.replace('connbook-', ''))
  throw new UsageError(`There is no page "${name}"; ${adviceFor(base, known, 'see connbook help')}`)
}

async function writePages(pages: readonly ManPage[], folder: string): Promise<void> {
  using interruption = abortOnSignals()
  for (const page of pages) {
    const place = join(folder, `man${page.section}`)
    const made = await lookBefore(mkdir(place, { recursive: true }), CANNOT_WRITE, place)
    const path = join(place, `${page.name}.${page.section}`)
    await replaceFile(path, CANNOT_WRITE, (write) => write(page.text()), interruption.signal, realFileSystem)
    // For everybody, whatever else this program makes for its own account alone.
    if (made !== undefined) await chmod(place, 0o755)
    await chmod(path, 0o644)
  }
}
