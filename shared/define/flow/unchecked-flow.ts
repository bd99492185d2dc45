import type * as checks from './refuse-flow.ts'

/** Takes the place of `refuse-flow.ts` in browsers and in the bundles of handlers, which check no definition. See `core/rules/unchecked.ts`. */
export const refuseFlow: typeof checks.refuseFlow = () => undefined
