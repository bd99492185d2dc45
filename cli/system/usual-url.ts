/** Where `baton dev` serves, unless it is told otherwise. */
export const USUAL_URL = 'http://127.0.0.1:7070'
