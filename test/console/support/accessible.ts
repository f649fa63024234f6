import assert from 'node:assert/strict'
import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from 'playwright-core'

/** WCAG 2.2, levels A and AA, and what axe holds to be good practice. */
const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22a', 'wcag22aa', 'best-practice']

/** What waits for a late answer is dimmed on purpose, and may begin to wait at any moment. */
const NOTHING_DIMMED = `{
  const sheet = new CSSStyleSheet()
  sheet.replaceSync('[data-late] table { opacity: 1 !important }')
  document.adoptedStyleSheets = [sheet]
}`

/**
 * Asserts that axe has no finding in what the page shows now, its dialogs included. Call it in each view and theme.
 *
 * @param rules Ids of axe's rules, if not all are to be held.
 */
export async function assertAccessible(page: Page, { rules }: { rules?: string[] } = {}): Promise<void> {
  assert.deepEqual(await accessibilityFindings(page, rules), [])
}

/** One line for each element at fault: the rule, where the element is, and what to do about it. */
export async function accessibilityFindings(page: Page, rules?: string[]): Promise<string[]> {
  const axe = new AxeBuilder({ page })
  if (rules === undefined) axe.withTags(TAGS)
  else axe.withRules(rules)
  await page.evaluate(NOTHING_DIMMED)
  // The other mode puts results together in a page of its own, which takes twice the time and is for frames only.
  const { violations } = await axe.setLegacyMode().analyze()
  await page.evaluate('document.adoptedStyleSheets = []')
  return violations.flatMap(({ id, help, helpUrl, nodes }) =>
    nodes.map(({ target, html, failureSummary = '' }) => {
      const what = failureSummary.replace(/\s+/g, ' ')
      return `${id} at ${target.join(' ')}: ${help}. ${what} ${html} ${helpUrl}`
    }),
  )
}
