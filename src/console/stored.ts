/** For a browser that keeps no data of sites: its settings may forbid even to look. */
const inPage = new Map<string, string>()

/** What all windows of the page share and the browser keeps; or else what this window knows. */
export const stored = {
  get(key: string): string | null {
    try {
      return localStorage.getItem(key)
    } catch {
      return inPage.get(key) ?? null
    }
  },
  set(key: string, value: string): void {
    try {
      localStorage.setItem(key, value)
    } catch {
      inPage.set(key, value)
    }
  },
  remove(key: string): void {
    try {
      localStorage.removeItem(key)
    } catch {
      inPage.delete(key)
    }
  },
}
