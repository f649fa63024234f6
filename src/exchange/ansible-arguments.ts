import { JUMP_LABEL, NOT_HOPS } from './hops.ts'
import { hopOfProxyCommand } from './proxy-command.ts'
import { shellWords } from './shell-words.ts'
import { leftOutText, lowerKeyword } from './ssh-keywords.ts'
import { sshLabels } from './ssh-labels.ts'

/** What arguments for ssh, as an inventory has them, say of the way to a host. */
export interface SshArguments {
  /** The hops, as the label has them; undefined if the arguments name none. */
  readonly jump: string | undefined
  /** Options that change nothing of where a connection goes. */
  readonly others: readonly string[]
  /** Why a record cannot keep the way, to complete "The variable …". */
  readonly fault: string | undefined
}

/** Options of ssh with a value, and those without one. */
const WITH_VALUE = 'BbcDEeFIiJLlmOopQRSWw'
const WITHOUT_VALUE = /^[46AaCfGgKkMNnqsTtVvXxYy]$/
/** Options that lead elsewhere, read other settings, or name a program; the others only change how a connection is made. */
const CHOOSING = 'FIlOpQWw'

const jumpLabel = sshLabels.find(({ key }) => key === JUMP_LABEL)
const keptKeywords = new Set(sshLabels.map(({ keyword }) => keyword.toLowerCase()))

/** Reads arguments as ssh does: of several ways, the first counts. */
export function readSshArguments(text: string): SshArguments {
  const words = shellWords(text)
  const reader = new ArgumentsReader()
  if (words === undefined) reader.refuse('has a quote without an end')
  else reader.read(words)
  return reader
}

class ArgumentsReader implements SshArguments {
  jump: string | undefined
  fault: string | undefined
  readonly #others = new Set<string>()

  get others(): readonly string[] {
    return [...this.#others]
  }

  read(words: readonly string[]): void {
    for (let at = 0; at < words.length; at++) {
      const word = words[at] ?? ''
      if (!/^-[^-]/.test(word)) this.refuse(`has ${JSON.stringify(word)}, which is no option of ssh`)
      else if (this.#takeLetters(word.slice(1), words[at + 1])) at += 1
    }
  }

  refuse(fault: string): void {
    this.fault ??= fault
  }

  /** @returns Whether the next word is the value of the last letter. */
  #takeLetters(letters: string, next: string | undefined): boolean {
    for (const [at, letter] of [...letters].entries()) {
      if (!WITH_VALUE.includes(letter)) {
        if (WITHOUT_VALUE.test(letter)) this.#others.add(`-${letter}`)
        else this.refuse(`has -${letter}, which is no option of ssh`)
        continue
      }
      const joined = letters.slice(at + 1)
      const value = joined === '' ? next : joined
      if (value === undefined) this.refuse(`ends with -${letter}, which needs a value`)
      else this.#takeOption(letter, value)
      return joined === ''
    }
    return false
  }

  #takeOption(letter: string, value: string) {
    if (letter === 'J') this.#takeJump(value)
    else if (letter === 'o') this.#takeKeyword(value)
    else if (CHOOSING.includes(letter)) this.refuse(`has -${letter}, which may lead elsewhere`)
    else this.#others.add(`-${letter}`)
  }

  #takeKeyword(setting: string) {
    const [, keyword = '', value = ''] = /^\s*([A-Za-z]+)(?:\s*=\s*|\s+)(.*)$/s.exec(setting) ?? []
    const lower = lowerKeyword(keyword)
    if (lower === 'proxyjump') this.#takeJump(value)
    else if (lower === 'proxycommand') this.#takeProxyCommand(value)
    else if (keptKeywords.has(lower) || leftOutText(lower, keyword) !== undefined) this.#others.add(keyword)
    else this.refuse(`has ${keyword || JSON.stringify(setting)}, which may lead elsewhere`)
  }

  #takeJump(written: string) {
    const hops = jumpLabel?.fromFile?.(written) ?? written
    this.#takeWay('ProxyJump', jumpLabel?.fault(hops) === undefined ? hops : undefined, NOT_HOPS)
  }

  #takeProxyCommand(command: string) {
    const hop = hopOfProxyCommand(shellWords(command) ?? [])
    this.#takeWay(
      'ProxyCommand',
      hop,
      'names a program; ProxyJump, or exactly ssh -W %h:%p HOST, can be kept',
    )
  }

  #takeWay(keyword: string, hops: string | undefined, detail: string) {
    if (this.jump !== undefined) this.#others.add(keyword)
    else if (hops === undefined) this.refuse(`has a ${keyword} that ${detail}`)
    else this.jump = hops
  }
}
