import type { Page } from 'playwright-core'

/** Fills in the form and sends it, whatever comes of that. */
export async function sendLogIn(page: Page, user: string, password: string): Promise<void> {
  await page.getByLabel('User', { exact: true }).fill(user)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Log in', exact: true }).click()
}

/** Logs in and waits until the form is gone and a page is there. */
export async function logIn(page: Page, user: string, password: string): Promise<void> {
  await sendLogIn(page, user, password)
  await page.getByRole('button', { name: 'Log in', exact: true }).waitFor({ state: 'hidden' })
  await page.getByRole('table').or(page.getByRole('heading')).first().waitFor()
}
