import type { Page } from 'playwright-core'

/** Opens a record from the list. */
export async function openRecord(page: Page, name: string): Promise<void> {
  await page.getByRole('link', { name, exact: true }).click()
  await page.getByRole('region', { name: 'Record', exact: true }).waitFor()
}

/** Opens a record from the list, and then the form to change it. */
export async function editRecord(page: Page, name: string): Promise<void> {
  await openRecord(page, name)
  await page.getByRole('button', { name: 'Edit', exact: true }).click()
  await page.getByRole('dialog', { name: 'Edit a record' }).waitFor()
}

/** Goes from a record back to the list. */
export async function backToList(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Back to the list' }).click()
}
