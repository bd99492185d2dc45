/**
 * What is done to the tasks of a type one after the other, in the background.
 *
 * - `resume`   what waits is sent to the type's workers again: the type was paused, or its limits were others
 */
export type TypeJob = { readonly kind: 'resume' }
