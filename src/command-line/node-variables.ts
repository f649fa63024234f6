import { isSea } from 'node:sea'

/** Not a variable of Node itself, but one that many machines set. */
const HARMLESS = 'NODE_ENV'

/**
 * Keeps Node's own variables, such as NODE_EXTRA_CA_CERTS, from having an effect on the executable. Node reads many of
 * them before the program begins, so this replaces the process by one without them; pid and standard streams stay.
 *
 * Node would close other descriptors. So a process that was given one only drops the variables.
 *
 * @param words Of the command line.
 */
export function dropNodeVariables(words: readonly string[], environment: NodeJS.ProcessEnv): void {
  if (!isSea()) return
  const names = Object.keys(environment).filter((name) => /^NODE_/i.test(name) && name !== HARMLESS)
  if (names.length === 0) return
  for (const name of names) delete environment[name]
  const isGivenDescriptor =
    environment.LISTEN_PID === String(process.pid) ||
    [...words, ...ownValues(environment)].some(namesDescriptor)
  // Windows has no such call.
  if (process.execve === undefined || isGivenDescriptor) return
  process.execve(process.execPath, [process.argv0, ...words], environment)
}

function namesDescriptor(text: string): boolean {
  return /\/(dev|self)\/fd\//.test(text)
}

/** The values of connbook's own variables, some of which name files. */
function ownValues(environment: NodeJS.ProcessEnv): string[] {
  return Object.keys(environment)
    .filter((name) => name.startsWith('CONNBOOK_'))
    .flatMap((name) => environment[name] ?? [])
}
