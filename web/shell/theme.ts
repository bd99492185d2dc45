import { createStore } from '../api/store.ts'

/** `system` follows the reader's system, and the change of it in the evening. */
export type Theme = 'system' | 'light' | 'dark'

const KEY = 'baton-theme'
const ORDER: readonly Theme[] = ['system', 'light', 'dark']

export const theme = createStore<Theme>(storedTheme())

export function nextTheme(): void {
  setTheme(ORDER[(ORDER.indexOf(theme.get()) + 1) % ORDER.length] ?? 'system')
}

export function setTheme(chosen: Theme): void {
  theme.set(chosen)
  if (chosen === 'system') {
    localStorage.removeItem(KEY)
    delete document.documentElement.dataset.theme
  } else {
    localStorage.setItem(KEY, chosen)
    document.documentElement.dataset.theme = chosen
  }
}

function storedTheme(): Theme {
  const stored = localStorage.getItem(KEY)
  return stored === 'light' || stored === 'dark' ? stored : 'system'
}
