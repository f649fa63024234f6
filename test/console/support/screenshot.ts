import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'

const folder = join(import.meta.dirname, '../screenshots')

/**
 * Writes what the window shows as `NAME-THEME-WIDTH.png` below `test/console/screenshots`, which git ignores.
 *
 * @param name Kebab-case: the view and its state.
 */
export async function screenshot(page: Page, name: string): Promise<void> {
  const isDark = await page.evaluate<boolean>('matchMedia("(prefers-color-scheme: dark)").matches')
  const width = await page.evaluate<number>('innerWidth')
  await mkdir(folder, { recursive: true })
  const path = join(folder, `${name}-${isDark ? 'dark' : 'light'}-${width}.png`)
  await page.screenshot({ path })
}
