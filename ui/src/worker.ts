// Work that would make the page stutter.
export {};
