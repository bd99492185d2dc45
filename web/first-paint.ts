/** Runs before the first paint, so that the page never flashes in the theme that was not chosen. `shell/theme.ts` stores it. */
const chosen = localStorage.getItem('baton-theme')
if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen
