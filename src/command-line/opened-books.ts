/** The books that a command has opened in its own process. Each is let go of while it is not called, and opened again when it is. */
export class OpenedBooks {
  readonly #books = new Set<AsyncDisposable>()

  /** @param book Whose disposal lets it go until the next call; it never rejects. */
  use<Book extends AsyncDisposable>(book: Book): Book {
    this.#books.add(book)
    return book
  }

  /** The output, for which all are let go of first: its reader may take its time. */
  letGoBefore<Text>(print: (text: Text) => Promise<void>): (text: Text) => Promise<void> {
    return async (text) => {
      await this.letGo()
      await print(text)
    }
  }

  /** Resolves once none has a data folder. */
  async letGo(): Promise<void> {
    for (const book of this.#books) await book[Symbol.asyncDispose]()
  }
}
