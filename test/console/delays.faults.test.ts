import '../support/node-version.ts'
import { globSync } from 'node:fs'
import { describe, it } from 'node:test'
import { assertPasses, root } from '../support/test-process.ts'
import { noChromium } from './support/chromium.ts'

/** Longer than the pause after which the list is dimmed. The waits differ from run to run, whatever the seed. */
const DELAY_MS_MAX = '1000'

describe('the console on a slow network', { skip: noChromium }, () => {
  for (const file of globSync('test/console/*.system.test.ts', { cwd: root }).sort())
    it(`passes ${file}`, (t) => assertPasses(t, file, { CONNBOOK_TEST_DELAY_MS: DELAY_MS_MAX }))
})
