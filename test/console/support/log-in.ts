import type { Page } from 'playwright-core'

/** Fills in the form and sends it, whatever comes of that. */
export async function sendLogIn(page: Page, user: string, password: string): Promise<void> {
  await page.getByLabel('User', { exact: true }).fill(user)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Log in', exact: true }).click()
}

/** Logs in and waits until the page knows whose session it is, and shows something. */
export async function logIn(page: Page, user: string, password: string): Promise<void> {
  await sendLogIn(page, user, password)
  await page.getByRole('dialog', { name: 'Log in' }).waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Log out', exact: true }).waitFor()
  await page.getByRole('table').or(page.getByRole('heading')).first().waitFor()
}
