import { type ComponentType, type ReactNode, use } from 'react'

/**
 * The code of each page is a file of its own. It is loaded ahead when the browser is idle, so a reader can go everywhere also when the
 * system has ended. A page whose code cannot be loaded stays in the app and says why.
 */

export type Pages<Name extends string> = Readonly<Record<Name, () => ReactNode>>

const ahead: Array<() => Promise<void>> = []
const refusals = new Set<() => void>()

/** The component of a page. `preload` loads its code, and never fails. */
export function lazyPage<Name extends string>(load: () => Promise<Pages<Name>>, name: Name) {
  let Page: ComponentType | undefined
  let opening: Promise<void> | undefined
  const loadPage = async () => {
    Page ??= (await load())[name]
  }
  const openAgain = () => {
    opening = undefined
  }
  function LazyPage() {
    if (!Page) {
      refusals.add(openAgain)
      opening ??= loadPage().catch(explain)
      use(opening)
    }
    return Page && <Page />
  }
  const preload = () => loadPage().catch(() => {})
  ahead.push(preload)
  return Object.assign(LazyPage, { preload })
}

/** Forgets which pages could not be opened, so that they are loaded again. */
export function openPagesAgain(): void {
  for (const openAgain of refusals) openAgain()
  refusals.clear()
}

/** Loads the code of all pages, one after the other, when the browser has nothing else to do. */
export function loadPagesAhead(): void {
  const whenIdle = globalThis.requestIdleCallback ?? setTimeout
  const next = ahead.shift()
  if (next) whenIdle(() => void next().then(loadPagesAhead))
}

const RELOADED_KEY = 'baton-reloaded-for'
const NO_ANSWER =
  'The code of this page is not loaded yet, and the system does not answer. It may have ended, or it is starting again.'
const OUTDATED =
  'The code of this page is not on the server, also after this page was loaded again. Another version of Baton may just be installed.'

/** The server that answers has another version, so the app loads itself again, once for each file that is missing. */
async function explain(cause: unknown): Promise<void> {
  const isServed = await fetch('/index.html', { method: 'HEAD', cache: 'no-store' }).then(
    ({ ok }) => ok,
    () => false,
  )
  if (!isServed) throw new Error(NO_ANSWER, { cause })
  if (sessionStorage.getItem(RELOADED_KEY) === String(cause)) throw new Error(OUTDATED, { cause })
  sessionStorage.setItem(RELOADED_KEY, String(cause))
  location.reload()
  await new Promise(() => {})
}
